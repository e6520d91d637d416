package main

import "slices"

// scenarios are what can be measured, in the order in which all are.
func scenarios() []scenario { return slices.Concat(standing(), making(), running(), others()) }

// standing are those of a cluster in which everything is as it should be.
func standing() []scenario {
	return []scenario{
		{
			name: "calibrate", short: "what the API server can do for one client, request by request",
			full: scale{times: 2_000, repeats: 3}, run: runCalibrate,
			quick: scale{times: 300, repeats: 3},
		},
		{
			name: "index", short: "memory and start-up of the live index, against bare informers",
			full: scale{apps: 2_000, perApp: 10, objects: 100_000, repeats: 3}, run: runIndex,
			quick: scale{apps: 100, perApp: 10, objects: 5_000, repeats: 3},
		},
		{
			name: "noop", short: "a reconcile of every application when nothing has changed",
			full: scale{apps: 10_000, perApp: 10, repeats: 3}, run: runNoop,
			quick: scale{apps: 500, perApp: 10, repeats: 3},
		},
		{
			name: "churn", short: "status-only updates of managed objects, against a bare watch",
			full: scale{apps: 2_000, perApp: 10, objects: 100_000, repeats: 3, rate: 500, seconds: 60}, run: runChurn,
			quick: scale{apps: 100, perApp: 10, objects: 5_000, repeats: 3, rate: 500, seconds: 10},
		},
		{
			name: "heal", short: "drift of one field until it is healed, against the bare sequence",
			full: scale{apps: 2_000, perApp: 10, objects: 100_000, times: 200, rate: 100, seconds: 10}, run: runHeal,
			quick: scale{apps: 100, perApp: 10, objects: 5_000, times: 60, rate: 100, seconds: 1},
		},
		{
			name: "restart", short: "a start with everything as it was, against a streamed list of the same objects",
			full: scale{apps: 10_000, perApp: 10, repeats: 3}, run: runRestart,
			quick: scale{apps: 500, perApp: 10, repeats: 3},
		},
	}
}

// making are those of applications that come and go.
func making() []scenario {
	return []scenario{
		{
			name: "waves", short: "a sync of ten waves of healthy objects, against applying them wave by wave",
			full: scale{times: 31}, run: runWaves,
			quick: scale{times: 11},
		},
		{
			name: "bootstrap", short: "the first sync of many applications, against a bare loop of the same writes",
			full: scale{apps: 1_000, perApp: 4, repeats: 3}, run: runBootstrap, peer: true,
			quick: scale{apps: 100, perApp: 4, repeats: 3},
		},
		{
			name: "bootstrap-wide", short: "the same, of very many applications of one object in a namespace of its own",
			full: scale{apps: 10_000, perApp: 1, repeats: 3}, run: runBootstrap,
			quick: scale{apps: 300, perApp: 1, repeats: 3},
		},
		{
			name: "bootstrap-big", short: "the same, of one application of very many objects",
			full: scale{apps: 1, perApp: 5_000, repeats: 3}, run: runBootstrap,
			quick: scale{apps: 1, perApp: 500, repeats: 3},
		},
		{
			name: "bootstrap-render", short: "the same, of charts and overlays, against the libraries and a bare loop",
			full: scale{apps: 1_000, perApp: 40, repeats: 3}, run: runBootstrap,
			quick: scale{apps: 40, perApp: 20, repeats: 3},
		},
		{
			name: "prune", short: "objects that leave the repository, and applications that are deleted, against a bare loop of deletions",
			full: scale{apps: 100, perApp: 100, repeats: 3}, run: runPrune,
			quick: scale{apps: 20, perApp: 20, repeats: 3},
		},
		{
			name: "generator", short: "many Applications from one ApplicationSet, against a bare loop that creates them",
			full: scale{apps: 10_000}, run: runGenerator,
			quick: scale{apps: 500},
		},
	}
}

// running are those of pushes, and of the program as a whole.
func running() []scenario {
	return []scenario{
		{
			name: "push", short: "a push to a chart until it is applied, against git, the library and one apply",
			full: scale{times: 20, repeats: 3}, run: runPush,
			quick: scale{times: 5, repeats: 3},
		},
		{
			name: "poll", short: "pushes that nobody tells of, in many repositories, against asking each once",
			full: scale{apps: 100, repeats: 3}, run: runPoll,
			quick: scale{apps: 20, repeats: 3},
		},
		{
			name: "monorepo", short: "pushes to one repository of many applications, against one of few",
			full: scale{apps: 10_000, times: 31}, run: runMonorepo,
			quick: scale{apps: 300, times: 11},
		},
		{
			name:  "webhook",
			short: "webhooks that are refused or come again, against a handler that answers 401; and pushes during a flood of them",
			full:  scale{repeats: 5, times: 20_000, rate: 2_000, seconds: 30}, run: runWebhook,
			quick: scale{repeats: 3, times: 4_000, rate: 1_000, seconds: 6},
		},
		{
			name: "fairness", short: "drifts and pushes of some beside others that fail, wait or take all, against being alone",
			full: scale{apps: 1_000, objects: 5_000, times: 200}, run: runFairness,
			quick: scale{apps: 100, objects: 500, times: 24},
		},
		{
			name: "idle", short: "many applications of which nothing changes, against holding a lease",
			full: scale{apps: 10_000, perApp: 1, seconds: 100, repeats: 3}, run: runIdle,
			quick: scale{apps: 200, perApp: 1, seconds: 10, repeats: 3},
		},
	}
}

// others need no cluster.
func others() []scenario {
	return []scenario{
		{
			name: "health", short: "judging objects: by built-in rules, and by a script in its process",
			full: scale{objects: 20_000, repeats: 5}, run: runHealth,
			quick: scale{objects: 5_000, repeats: 3},
		},
		{
			name: "render", short: "a render in a confined worker, against the bare library and the stock programs; and no render",
			full: scale{repeats: 5, times: 100}, run: runRender,
			quick: scale{repeats: 3, times: 10},
		},
		{
			name:  "list",
			short: "pages of applications, of a fleet and one five times as large, against encoding ready structs; and streams",
			full:  scale{apps: 10_000, times: 1_000, rate: 100, seconds: 20}, run: runList,
			quick: scale{apps: 2_000, times: 200, rate: 100, seconds: 5},
		},
		{
			name:  "ui",
			short: "the pages in chromium's own trace: a list of many applications, graphs of many objects; needs npm and chromium",
			full:  scale{apps: 10_000, objects: 14_000, rate: 20}, run: runUI,
			quick: scale{apps: 2_000, objects: 2_800, rate: 5},
		},
	}
}
