"""What people look at: tables, pictures, HTML."""
