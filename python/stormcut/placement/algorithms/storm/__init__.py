"""Storm's own schedulers, as its 1.2.4 classes decide."""
