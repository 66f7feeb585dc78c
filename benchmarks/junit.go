package benchmarks

import "fmt"

// KindJUnit scores the test cases of a JUnit XML report that a command writes.
const KindJUnit = "junit"

func newJUnitSuite(c Config) (Suite, error) {
	return nil, fmt.Errorf("suite %q: %w: kind junit is being built", c.Name, ErrConfig)
}
