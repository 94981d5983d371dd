"""What one request, one person and all together may take: size, rate, concurrency, time."""
