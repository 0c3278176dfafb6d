"""The five papers' published figures: what each shows, how it is run here, what it claims."""
