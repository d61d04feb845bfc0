"""Passes over all pairs, compiled for the CPU: every core, any dimension, signature and
dissimilarity.
"""
