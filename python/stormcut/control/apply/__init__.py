"""From decisions to what Nimbus is told: withheld, staged, after spouts have come to rest."""
