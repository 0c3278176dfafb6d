"""Load prediction in smart homes: query 1 of the DEBS 2014 Grand Challenge."""
