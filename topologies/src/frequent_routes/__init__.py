"""The frequent-routes query of the DEBS 2015 Grand Challenge, over Chicago's taxi trips."""
