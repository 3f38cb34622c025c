"""The best of several models: draws that find it, the answer, and simulations of it."""
