package benchmarks

import "fmt"

// KindPyTest scores the tests that pytest collects.
const KindPyTest = "pytest"

func newPySuite(c Config) (Suite, error) {
	return nil, fmt.Errorf("suite %q: %w: kind pytest is being built", c.Name, ErrConfig)
}
