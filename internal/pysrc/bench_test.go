package pysrc

import (
	"strings"
	"testing"
)

// BenchmarkParse shows that time is linear in the source: bytes a second stay the
// same from one size to the next.
func BenchmarkParse(b *testing.B) {
	unit := "@d\nclass A(B):\n    def f(self, a: int = 1, *b) -> str:\n        \"\"\"Doc.\"\"\"\n        return [f'{x + a!r:>{b}}' for x in self.y[1:a] if x not in (1, 2)]  # note\n\n"
	for name, n := range map[string]int{"10KB": 60, "100KB": 600, "1MB": 6000} {
		src := []byte(strings.Repeat(unit, n))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				f, err := Parse(src)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Check(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
