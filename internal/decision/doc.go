// Package decision rules on whether a change is kept: on fresh, paired,
// interleaved measurements of a candidate and its parent, and on nothing else.
// It is pure: no input or output, no clock, no randomness, so that equal
// observations always give the equal verdict.
//
// # The test
//
// A screen fixes, before the first measurement, which problems a candidate is
// claimed to improve. Each round measures every claimed problem once on the
// parent and once on the candidate and gives a difference d = candidate -
// parent in [-1, 1]. The null hypothesis is that no claimed problem improved:
// the mean of each d, given all that was seen before, is at most 0. Wealth
// starts at 1 and is multiplied, for each claimed problem and round, by
//
//	1 + λ·d    with 0 ≤ λ < 1 fixed before d is seen
//
// Under the null each factor has a mean of at most 1, so that wealth is a
// non-negative supermartingale, and by Ville's inequality the probability that
// it ever reaches 1/level is at most level, at whatever round one looks or
// stops. This is the capital process of Waudby-Smith and Ramdas, "Estimating
// means of bounded random variables by betting" (J. R. Stat. Soc. B, 2024,
// section 3), for a mean of 0 on [-1, 1].
//
// # The bets
//
// The wealth of a difference with mean μ and second moment s grows fastest,
// to second order, with λ = μ/s (the same paper's "approximate GRAPA", section
// B.3; Kelly's bet, exact when d is -1, 0 or 1). Here the moments are sums over
// the past rounds of this confirmation, begun with the screen's guess worth
// Weight informative rounds:
//
//	λ = (Weight·Bet + Σd) / (Weight + Σd²)    clamped to [0, 0.95]
//
// # What is assumed
//
// Several claims in one round multiply. That needs runs of different problems
// to be independent given the two trees, and this is why each claimed problem
// is run in a process of its own. A disturbance of the host may still strike
// all problems of one round, therefore nothing is kept on fewer than MinRounds
// rounds. For one claim nothing is assumed but the interleaving.
//
// # Nothing may get worse
//
// One full round of all problems names suspects: problems on which the
// candidate scored less than its parent. Each is repeated in every round and
// has the same test, turned round. The round that named it is not evidence.
package decision
