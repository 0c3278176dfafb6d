"""The tasks and dataflows of the model-driven experiments (Shukla and Simmhan, JPDC 2018)."""
