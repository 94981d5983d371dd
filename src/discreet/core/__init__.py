"""The core: charge, then read, then noise. The only room that turns exact numbers into noisy ones."""
