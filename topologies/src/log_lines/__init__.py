"""Log processing over a Linux auth.log."""
