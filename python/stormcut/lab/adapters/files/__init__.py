"""Files that only the laboratory reads and writes."""
