"""What release algorithms share: their protocol, the choice of noise, claims."""
