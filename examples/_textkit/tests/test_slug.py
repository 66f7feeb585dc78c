import unittest

from textkit.slug import slug, unique


class SlugTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_runs_of_punctuation(self):
        self.assertEqual(slug("What -- is this?!"), "what-is-this")

    def test_several_spaces(self):
        self.assertEqual(slug("a    b"), "a-b")

    def test_ends(self):
        self.assertEqual(slug("  'quoted'  "), "quoted")

    def test_unique(self):
        self.assertEqual(unique("A b", {"a-b", "a-b-2"}), "a-b-3")
