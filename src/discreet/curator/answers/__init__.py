"""From noisy tallies to answers with intervals: post-processing."""
