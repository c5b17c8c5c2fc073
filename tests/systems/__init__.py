"""Systems, random and ready, that tests share."""
