package main

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// isChosen reports whether a mutant is at a place that the arguments name.
func (o *options) isChosen(m mutant) bool {
	return len(o.places) == 0 ||
		slices.ContainsFunc(o.places, func(place string) bool { return strings.HasPrefix(m.String(), place) })
}

// draw returns a sample of mutants, numbered from 1, and how many there are to draw from.
// It leaves out those that are known to be equivalent.
func (o *options) draw(sources []*source, equivalent []equivalence) (sample []mutant, all int) {
	var population []mutant
	for _, s := range sources {
		for _, m := range findMutants(s) {
			isKnown := slices.ContainsFunc(equivalent, func(e equivalence) bool { return e.names(m) })
			if o.isChosen(m) && !isKnown {
				population = append(population, m)
			}
		}
	}
	order := rand.New(rand.NewPCG(o.seed, 0)).Perm(len(population))
	for i, at := range order[:min(o.size, len(order))] {
		m := population[at]
		m.id = i + 1
		sample = append(sample, m)
	}
	slices.SortStableFunc(sample, func(a, b mutant) int { return strings.Compare(a.path, b.path) })
	return sample, len(population)
}
