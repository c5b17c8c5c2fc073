"""Pictures, by matplotlib. Imported only when a picture is asked for."""
