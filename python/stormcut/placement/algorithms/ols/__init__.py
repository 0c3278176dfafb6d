"""The schedulers of Aniello, Baldoni and Querzoni (DEBS 2013): offline, and online (OLS)."""
