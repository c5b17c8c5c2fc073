"""Contact models of a run: rigid contact by events or by steps, compliant contact."""
