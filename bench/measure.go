package main

import (
	"math"
	"slices"
	"time"
)

// A timing is how long one call took, in nanoseconds: the median of all rounds
// and the quartiles around it.
type timing struct{ median, q1, q3 float64 }

func newTiming(samples []float64) timing {
	return timing{quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75)}
}

// quantile is the value below which the fraction q of the samples lies,
// interpolated between the two nearest.
func quantile(samples []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// ratios is a over b, round by round, so that what slows a whole round down
// cancels out.
func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}

// fewestRounds is how many there are however long a call takes.
const fewestRounds = 5

// measure times the contenders in turn, round after round, each for about
// benchtime in all. It returns the nanoseconds a call took in each round of
// each contender. Where calls are longer than a batch is meant to be there are
// fewer rounds.
func measure(cs []contender, benchtime time.Duration, rounds int) [][]float64 {
	batch := benchtime / time.Duration(rounds)
	iters := make([]int, len(cs))
	var round time.Duration
	for i := range cs {
		cs[i].choose()
		call := calibrate(cs[i].run, batch)
		iters[i] = max(int(float64(batch)/call), 1)
		round += time.Duration(float64(iters[i]) * call)
	}
	affordable := int(benchtime * time.Duration(len(cs)) / round)
	rounds = min(rounds, max(affordable, fewestRounds))
	samples := make([][]float64, len(cs))
	for r := range rounds {
		for j := range cs {
			i := (j + r) % len(cs) // so that nobody always follows the same one
			cs[i].choose()
			if iters[i] > 1 {
				cs[i].run(1) // its code and data into the caches
			}
			samples[i] = append(samples[i], float64(clock(cs[i].run, iters[i]))/float64(iters[i]))
		}
	}
	return samples
}

// interruption is longer than the operating system takes the processor away for.
const interruption = 50 * time.Millisecond

// calibrate finds roughly how many nanoseconds a call takes.
func calibrate(run func(iters int), batch time.Duration) float64 {
	for n := 1; ; n *= 4 {
		d := clock(run, n)
		for try := 0; try < 2 && batch/8 <= d && d < interruption; try++ {
			d = min(d, clock(run, n))
		}
		if d >= batch/8 || n > math.MaxInt32 {
			return float64(d) / float64(n)
		}
	}
}

func clock(run func(iters int), iters int) time.Duration {
	start := time.Now()
	run(iters)
	return max(time.Since(start), 1)
}
