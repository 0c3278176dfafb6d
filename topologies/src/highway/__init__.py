"""A toll query over an expressway, in the manner of the Linear Road benchmark."""
