"""The laboratory's pages, tables and pictures."""
