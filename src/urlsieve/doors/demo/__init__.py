"""The show: a made site, two rounds, two workers, one of them killed; the figures are compared with what the site itself knows."""
