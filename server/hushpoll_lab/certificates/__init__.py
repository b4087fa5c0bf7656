"""Certificates: how far the fairness of one model can be from that of another, or from parity."""
