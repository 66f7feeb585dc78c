"""A cache of a few recently used values."""


class Cache:
    """Holds at most size values and forgets the least recently used."""

    def __init__(self, size):
        self.size = size
        self.values = {}
        self.order = []

    def get(self, key, make):
        """The value of key, made where it is not held."""
        if key in self.values:
            self.order.remove(key)
            self.order.append(key)
            return self.values[key]
        if len(self.order) >= self.size:
            oldest = self.order.pop(1)
            del self.values[oldest]
        self.order.append(key)
        self.values[key] = make(key)
        return self.values[key]
