"""Prices and totals of a shopping basket, in whole cents."""
