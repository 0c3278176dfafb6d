"""Bframework, reconstructed: the paper's formulas, pseudo-code and parameters are lost."""
