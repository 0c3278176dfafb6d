"""What the laboratory reaches outside: clusters, files, Spark, Storm."""
