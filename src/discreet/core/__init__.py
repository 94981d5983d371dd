"""The core: charge, then read, then noise. The only package that turns exact numbers into noisy ones."""
