package decision

import "math"

// futilityZ is the width, in standard errors, of the optimism that is granted
// before a confirmation is given up. Stopping early never costs validity, only
// power: at 2.5 it costs none that can be measured (docs/adr/0002-decision-rule.md).
const futilityZ = 2.5

// futile says that the claims will not reach the target in the rounds left:
// not even when every one of them is won, or not at the best rate that the
// rounds so far leave plausible.
func (c *Confirmation) futile() bool {
	left := float64(c.cfg.Rounds - c.rounds)
	need := c.target - c.wealth.log()
	m := float64(len(c.claims))
	if need > left*m*math.Log1p(maxBet) {
		return true
	}
	if c.rounds == 0 {
		return false
	}
	return need > left*c.pooledGrowth() && need > left*c.separateGrowth()
}

// pooledGrowth is the growth of log wealth in one round if all claims share
// one rate of gains and losses, each as favourable as their pooled data allow.
func (c *Confirmation) pooledGrowth() float64 {
	wins, loss := 0.0, 0.0
	for i := range c.claims {
		wins += c.claims[i].wins
		loss += c.claims[i].loss
	}
	n := float64(len(c.claims) * c.rounds)
	_, gain := wilson(wins/n, n, futilityZ)
	cost, _ := wilson(loss/n, n, futilityZ)
	return float64(len(c.claims)) * bestGrowth(gain, cost)
}

// separateGrowth is the growth in one round if each claim goes on exactly as
// it did. With few rounds the best bet on noise alone looks good, so this is
// optimistic by itself.
func (c *Confirmation) separateGrowth() float64 {
	n, sum := float64(c.rounds), 0.0
	for i := range c.claims {
		sum += bestGrowth(c.claims[i].wins/n, c.claims[i].loss/n)
	}
	return sum
}

// bestGrowth is the largest mean growth of log wealth, over all bets, when the
// difference is 1 with probability gain and -1 with probability loss.
func bestGrowth(gain, loss float64) float64 {
	if gain <= loss {
		return 0
	}
	bet := min((gain-loss)/(gain+loss), maxBet)
	return gain*math.Log1p(bet) + loss*math.Log1p(-bet)
}

// wilson is Wilson's score interval (J. Am. Stat. Assoc. 22, 1927) for a
// proportion p seen in n trials.
func wilson(p, n, z float64) (low, high float64) {
	zz := z * z
	mid := (p + zz/(2*n)) / (1 + zz/n)
	half := z / (1 + zz/n) * math.Sqrt(p*(1-p)/n+zz/(4*n*n))
	return max(mid-half, 0), min(mid+half, 1)
}
