"""From measurements to the load and traffic that algorithms need."""
