package aa

// tally counts what one campaign, or many, came to.
type tally struct {
	identical, accepted     int // identical candidates confirmed, and kept
	better, confirmed, kept int // better candidates
	rounds                  int // in the confirmations of better candidates
	phantom                 float64
	campaigns               int
}

// sum adds up the campaigns of one suite, in their order.
func sum(ts []tally) tally {
	all := tally{campaigns: len(ts)}
	for _, t := range ts {
		all.identical += t.identical
		all.accepted += t.accepted
		all.better += t.better
		all.confirmed += t.confirmed
		all.kept += t.kept
		all.rounds += t.rounds
		all.phantom += t.phantom
	}
	return all
}

func (t tally) report(name string) SuiteReport {
	return SuiteReport{
		Name:              name,
		FalseAcceptRate:   ratio(t.accepted, t.identical),
		Power:             ratio(t.kept, t.better),
		MeanRounds:        ratio(t.rounds, t.confirmed),
		PhantomGainPoints: 100 * t.phantom / float64(max(t.campaigns, 1)),
	}
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
