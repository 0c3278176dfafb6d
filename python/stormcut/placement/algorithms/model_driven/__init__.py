"""Model-driven scheduling: allocation and the mappings DSM, RSM and SAM."""
