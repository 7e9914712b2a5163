package archtest

import (
	"fmt"
	"slices"
	"strings"
)

const module = "millrace"

type floor int

const (
	ground   floor = iota // event
	helper                // usable by every floor, event included
	contract              // pure parts and the interfaces between them
	adapter               // one folder per target, under its contract
	failure               // what blocks, parks and redrives
	pipeline
	telemetry // what is known of a worker, for machines
	status
	config
	service
	top // mains and whatever else nobody imports
)

// place is where one package stands.
type place struct {
	floor floor
	tree  string // packages of one tree belong together and may import each other
	aws   bool   // may name AWS types
}

// placeOf is the plan of the house. ok is false for a package that has no place
// in it: a new top-level folder is a decision, made here.
func placeOf(pkg string) (p place, ok bool) {
	path := strings.TrimPrefix(pkg, module+"/")
	tree, rest, nested := strings.Cut(path, "/")
	switch tree {
	case "event":
		return place{floor: ground, tree: tree}, true
	case "source", "reorder", "eventstore", "projection", "checkpoint", "sinks":
		if nested {
			return place{floor: adapter, tree: path, aws: true}, true
		}
		return place{floor: contract, tree: tree, aws: tree == "eventstore"}, true
	case "failure":
		return place{floor: failure, tree: tree, aws: nested}, true
	case "telemetry":
		return place{floor: telemetry, tree: tree}, true
	case "pipeline":
		return place{floor: pipeline, tree: tree}, true
	case "status":
		return place{floor: status, tree: tree}, true
	case "config":
		return place{floor: config, tree: tree}, true
	case "service":
		return place{floor: service, tree: tree, aws: true}, true
	case "cmd", "benchmarks", "examples", "deploy":
		return place{floor: top, tree: tree, aws: true}, true
	case "internal":
		name, _, _ := strings.Cut(rest, "/")
		switch name {
		case "sim", "interop", "cli":
			return place{floor: top, tree: "internal/" + name, aws: true}, true
		case "awsvalue", "awsclient", "localaws":
			return place{floor: helper, tree: "internal/" + name, aws: true}, true
		}
		return place{floor: helper, tree: "internal/" + name}, nested
	}
	return place{}, false
}

// violations checks a graph of packages and their imports, and answers with one
// line for each import that breaks a rule, sorted.
func violations(graph map[string][]string) []string {
	var found []string
	for pkg, imports := range graph {
		from, ok := placeOf(pkg)
		if !ok {
			found = append(found, fmt.Sprintf("%s has no floor: give it one in placeOf", pkg))
			continue
		}
		for _, imported := range imports {
			if rule := broken(from, imported); rule != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", pkg, imported, rule))
			}
		}
	}
	slices.Sort(found)
	return found
}

// broken names the rule that an import by a package at from breaks, or "".
func broken(from place, imported string) string {
	if strings.HasPrefix(imported, "github.com/aws/") {
		if !from.aws {
			return "AWS types stop at the adapters"
		}
		return ""
	}
	if imported != module && !strings.HasPrefix(imported, module+"/") {
		return ""
	}
	to, ok := placeOf(imported)
	switch {
	case !ok:
		return "it has no floor"
	case from.tree == to.tree:
		return ""
	case to.tree == "internal/localaws" && from.floor != top:
		return "the local engine is a test double: only mains, benchmarks, examples, the simulator and tests use it"
	case to.floor == helper:
		if to.aws && !from.aws {
			return "AWS types stop at the adapters"
		}
		return ""
	case from.tree == "checkpoint" && to.tree == "source":
		return "" // a lease row names a shard and where to start reading it
	case from.floor == contract && to.floor == contract:
		return "contracts do not know each other"
	case from.floor < to.floor:
		return "an import never goes up"
	}
	return ""
}
