package decision

import "math"

// maxBet keeps a lost round from taking all wealth: at least a twentieth stays.
const maxBet = 0.95

// bettor is the betting process on one problem. It is predictable: the next
// bet depends on past differences only.
type bettor struct {
	bet, weight float64
	sum, square float64 // of the differences seen
	wins, loss  float64 // sums of the positive and of the negative parts, both ≥ 0
	log         float64 // natural logarithm of wealth
	rounds      int
}

// next is the bet on the coming difference, in [0, maxBet].
func (b *bettor) next() float64 {
	bet := (b.weight*b.bet + b.sum) / (b.weight + b.square)
	return min(max(bet, 0), maxBet)
}

// observe takes one difference in [-1, 1] and returns the growth of log wealth.
func (b *bettor) observe(d float64) float64 {
	growth := 0.0
	if d != 0 {
		growth = math.Log1p(b.next() * d)
		b.sum += d
		b.square += d * d
		b.wins += max(d, 0)
		b.loss += max(-d, 0)
	}
	b.log += growth
	b.rounds++
	return growth
}

// clamp brings a difference into [-1, 1]; one that is not a number is worst.
func clamp(d, worst float64) float64 {
	if math.IsNaN(d) {
		return worst
	}
	return min(max(d, -1), 1)
}

// eValue turns log wealth into a finite e-value.
func eValue(log float64) float64 {
	const most = 700 // e^709 is the largest finite float64
	return math.Exp(min(log, most))
}
