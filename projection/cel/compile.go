package cel

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"millrace/event"
	"millrace/internal/decimal"
)

// What expressions see.
const (
	eventName     = "event"     // the event's attributes
	stateName     = "state"     // the item's
	aggregateName = "aggregate" // the aggregate's id
	versionName   = "version"   // the event's version
	typeName      = "type"      // the event's type
)

// budget ends an expression that would run for long: a comprehension over a
// large list of large lists, for example. The longest useful one is far below.
const budget = 10_000_000

// environment is what expressions may use. Those over state cannot be filters.
func environment(withState bool) (*cel.Env, error) {
	item := cel.MapType(cel.StringType, cel.DynType)
	options := []cel.EnvOption{
		cel.Variable(eventName, item),
		cel.Variable(aggregateName, cel.StringType),
		cel.Variable(versionName, cel.IntType),
		cel.Variable(typeName, cel.StringType),
		cel.OptionalTypes(),
		cel.EagerlyValidateDeclarations(true),
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(), ext.Lists(), ext.Sets(),
		cel.Function("decimal", cel.Overload("decimal_dyn", []*cel.Type{cel.DynType}, cel.DynType, cel.UnaryBinding(parse))),
	}
	if withState {
		options = append(options, cel.Variable(stateName, item))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("making the environment of expressions: %w", err)
	}
	return env, nil
}

// parse makes a number of text.
func parse(v ref.Val) ref.Val {
	if text, ok := v.(types.String); ok {
		d, err := decimal.Parse(string(text))
		if err != nil {
			return types.WrapErr(err)
		}
		return number(d)
	}
	d, isNumber, err := exact(v)
	switch {
	case err != nil:
		return types.WrapErr(err)
	case !isNumber:
		return types.NewErr("decimal() takes text or a number, not %s", v.Type().TypeName())
	}
	return number(d)
}

// Problem is an expression that cannot be used, and where it stands.
type Problem struct {
	Place string // as the fold's rules name it: on.OrderPlaced.set.total
	Text  string
}

// Error shows the place and what is wrong.
func (p *Problem) Error() string { return p.Place + ": " + p.Text }

// expression is a compiled one.
type expression struct {
	place   string
	program cel.Program
}

// compile checks an expression and whether its result can be of a type; nil
// for any.
func compile(env *cel.Env, place, source string, want *cel.Type) (*expression, error) {
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		var texts []string
		for _, e := range issues.Errors() {
			texts = append(texts, fmt.Sprintf("%s (column %d)", e.Message, e.Location.Column()+1))
		}
		return nil, &Problem{place, fmt.Sprintf("%q: %s", source, strings.Join(texts, "; "))}
	}
	if got := ast.OutputType(); want != nil && got.Kind() != want.Kind() && got.Kind() != types.DynKind {
		return nil, &Problem{place, fmt.Sprintf("%q gives %s where it must give %s", source, got, want)}
	}
	program, err := env.Program(ast, cel.CustomDecoratorV2(exactly), cel.CostLimit(budget))
	if err != nil {
		return nil, &Problem{place, fmt.Sprintf("%q: %v", source, err)}
	}
	return &expression{place, program}, nil
}

// scope is what one evaluation sees.
type scope struct {
	event event.Event
	state event.Item
}

// ResolveName finds a variable.
func (s scope) ResolveName(name string) (any, bool) {
	switch name {
	case eventName:
		return attributes{get: s.event.Image.Get, all: s.event.Image.Item}, true
	case stateName:
		return attributes{
			get: func(name string) (event.Value, error) { return s.state[name], nil },
			all: func() (event.Item, error) { return s.state, nil },
		}, true
	case aggregateName:
		return types.String(s.event.Aggregate), true
	case versionName:
		return types.Int(s.event.Version), true //nolint:gosec // layouts end at 2^63-1
	case typeName:
		kind, err := s.event.Type()
		if err != nil {
			return types.WrapErr(err), true
		}
		return types.String(kind), true
	}
	return nil, false
}

// Parent is none.
func (scope) Parent() cel.Activation { return nil }

// Failure is an expression that failed over an event. It is the event's fault
// or the fold's, and permanent.
type Failure struct {
	Place string
	Err   error
}

// Error tells the place and the reason.
func (f *Failure) Error() string { return fmt.Sprintf("rule %s: %v", f.Place, f.Err) }

// Unwrap returns the reason.
func (f *Failure) Unwrap() error { return f.Err }

// Places is the rule's, by which failures are told apart.
func (f *Failure) Places() []string { return []string{f.Place} }

func (e *expression) eval(s scope) (ref.Val, error) {
	v, _, err := e.program.Eval(s)
	if err != nil {
		return nil, &Failure{e.place, err}
	}
	return v, nil
}

var errNotBool = errors.New("it gave neither true nor false")

func (e *expression) holds(s scope) (bool, error) {
	v, err := e.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, &Failure{e.place, errNotBool}
	}
	return bool(b), nil
}
