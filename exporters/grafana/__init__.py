"""Grafana dashboards, made from code: ``python -m exporters.grafana`` writes them anew.

It takes the dependency group ``ops``; nothing of it runs in a measuring host.
"""
