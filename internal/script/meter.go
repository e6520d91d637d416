package script

import "time"

// Cost is what runs of a script take, each part apart.
type Cost struct {
	// Encode is the way out of the parent, Evaluate the run itself with the
	// reading of what it looks at.
	Encode, Evaluate time.Duration
}

// Meter runs a script on each of the globals, the given number of times, in
// this process and without any limit. It is for measuring trusted scripts and
// for nothing else; clock says how much time there was so far.
func Meter(s Script, runs []map[string]any, times int, clock func() time.Duration) (Cost, error) {
	var cost Cost
	in := newInterpreter()
	in.compile("", s.Source, s.OpenLibs)
	inputs := make([][]byte, len(runs))
	start := clock()
	for range times {
		for i, globals := range runs {
			var err error
			if inputs[i], err = appendGlobals(inputs[i][:0], globals); err != nil {
				return cost, err
			}
		}
	}
	cost.Encode = clock() - start
	ctx := newWatch()
	var out []byte
	start = clock()
	for range times {
		for _, input := range inputs {
			ctx.begin()
			var err error
			out, err = in.run(ctx, "", input, out[:0])
			ctx.end()
			if err != nil {
				return cost, err
			}
		}
	}
	cost.Evaluate = clock() - start
	return cost, nil
}
