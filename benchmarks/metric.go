package benchmarks

import "fmt"

// KindMetric scores numbers that a command prints.
const KindMetric = "metric"

func newMetricSuite(c Config) (Suite, error) {
	return nil, fmt.Errorf("suite %q: %w: kind metric is being built", c.Name, ErrConfig)
}
