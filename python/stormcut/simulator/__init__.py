"""What a placement would do over time: a discrete-event engine and its fluid twin."""
