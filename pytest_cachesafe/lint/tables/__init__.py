"""What the analysis knows of libraries and habits: data only. A framework is added here and nowhere else."""
