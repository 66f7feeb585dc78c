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
	wealth      wealth
	rounds      int
}

// next is the bet on the coming difference, in [0, maxBet].
func (b *bettor) next() float64 {
	bet := (b.weight*b.bet + b.sum) / (b.weight + b.square)
	return min(max(bet, 0), maxBet)
}

// observe takes one difference in [-1, 1] and returns the factor of wealth.
func (b *bettor) observe(d float64) float64 {
	factor := 1 + b.next()*d
	b.wealth.multiply(factor)
	b.sum += d
	b.square += d * d
	b.wins += max(d, 0)
	b.loss += max(-d, 0)
	b.rounds++
	return factor
}

// wealth is a product of many positive factors that neither overflows nor
// vanishes: excess + log(product). A logarithm for each factor would cost more
// than all else. The zero value is a wealth of 1.
type wealth struct {
	excess  float64
	product float64 // 0 means 1
}

func (w *wealth) multiply(factor float64) {
	const most = 1e100
	if w.product == 0 {
		w.product = 1
	}
	w.product *= factor
	if w.product > most || w.product < 1/most {
		w.excess += math.Log(w.product)
		w.product = 1
	}
}

// log is the natural logarithm of wealth.
func (w *wealth) log() float64 {
	if w.product == 0 {
		return 0
	}
	return w.excess + math.Log(w.product)
}

// value is the wealth as a finite e-value.
func (w *wealth) value() float64 {
	const most = 700 // e^709 is the largest finite float64
	return math.Exp(min(w.log(), most))
}

// clamp brings a difference into [-1, 1]; one that is not a number is worst.
func clamp(d, worst float64) float64 {
	if math.IsNaN(d) {
		return worst
	}
	return min(max(d, -1), 1)
}
