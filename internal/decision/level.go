package decision

// levelStart is how many confirmations share the largest levels: the series
// below falls slowly at first, then with the square of j.
const levelStart = 10

// Level is the error probability that the j-th confirmation of a campaign may
// spend, for j from 1: alpha·10/((j+9)(j+10)). The series telescopes and sums
// to alpha over all j, so that a campaign of any length keeps a change which
// improves nothing with probability at most alpha. It is 0 for j below 1.
func Level(alpha float64, j int) float64 {
	if j < 1 {
		return 0
	}
	n := float64(j) + levelStart
	return alpha * levelStart / ((n - 1) * n)
}
