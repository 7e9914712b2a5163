package cel

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"millrace/internal/decimal"
)

// exactly replaces the calls of arithmetic and comparison by ones that are
// exact over ints and decimals, and leaves every other call alone.
func exactly(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if constant, ok := node.(interpreter.InterpretableConst); ok {
		if double, ok := constant.Value().(types.Double); ok {
			d, _, err := exact(double)
			if err != nil {
				return nil, err
			}
			return interpreter.NewConstValue(node.ID(), number(d)), nil
		}
		return node, nil
	}
	call, ok := node.(interpreter.InterpretableCall)
	if !ok {
		return node, nil
	}
	args := call.Args()
	operation, known := operations[call.Function()]
	if !known || len(args) != operation.args {
		return node, nil
	}
	return &exactCall{InterpretableCall: call, args: args, operation: operation}, nil
}

// operation is one operator over numbers.
type operation struct {
	args int
	do   func(a, b decimal.Decimal) (ref.Val, error)
}

func sum(of func(a, b decimal.Decimal) (decimal.Decimal, error)) operation {
	return operation{2, func(a, b decimal.Decimal) (ref.Val, error) {
		d, err := of(a, b)
		return number(d), err
	}}
}

func order(holds func(cmp int) bool) operation {
	return operation{2, func(a, b decimal.Decimal) (ref.Val, error) { return types.Bool(holds(a.Cmp(b))), nil }}
}

// operations are CEL's operators that numbers have, but for the remainder,
// which is one of whole numbers.
var operations = map[string]operation{
	operators.Add:           sum(decimal.Decimal.Add),
	operators.Subtract:      sum(decimal.Decimal.Sub),
	operators.Multiply:      sum(decimal.Decimal.Mul),
	operators.Divide:        sum(decimal.Decimal.Quo),
	operators.Negate:        {1, func(a, _ decimal.Decimal) (ref.Val, error) { return number(a.Neg()), nil }},
	operators.Less:          order(func(c int) bool { return c < 0 }),
	operators.LessEquals:    order(func(c int) bool { return c <= 0 }),
	operators.Greater:       order(func(c int) bool { return c > 0 }),
	operators.GreaterEquals: order(func(c int) bool { return c >= 0 }),
	operators.Equals:        order(func(c int) bool { return c == 0 }),
	operators.NotEquals:     order(func(c int) bool { return c != 0 }),
}

// exactCall is the call of an operator.
type exactCall struct {
	interpreter.InterpretableCall
	args      []interpreter.InterpretableV2
	operation operation
}

// Exec evaluates the arguments once and hands anything but numbers to the
// operator's own meaning.
func (c *exactCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var values [2]ref.Val
	var numbers [2]decimal.Decimal
	all := true
	for i, arg := range c.args {
		values[i] = arg.Exec(frame)
		if types.IsUnknownOrError(values[i]) {
			return values[i]
		}
	}
	if n, ok := quick(c.Function(), values); ok {
		return n
	}
	for i := range c.args {
		d, isNumber, err := exact(values[i])
		if err != nil {
			return types.WrapErr(err)
		}
		all, numbers[i] = all && isNumber, d
	}
	if !all {
		return c.InterpretableCall.Exec(frame)
	}
	v, err := c.operation.do(numbers[0], numbers[1])
	if err != nil {
		return types.WrapErr(err)
	}
	return v
}

// Eval is Exec for callers of the older interface.
func (c *exactCall) Eval(a interpreter.Activation) ref.Val {
	return c.InterpretableCall.Eval(a)
}

// quick is the answer where both sides are whole numbers and nothing overflows:
// in most expressions the only case.
func quick(function string, v [2]ref.Val) (ref.Val, bool) {
	a, ok := v[0].(types.Int)
	b, both := v[1].(types.Int)
	if !ok || !both {
		return nil, false
	}
	switch function {
	case operators.Add:
		if sum := a + b; (sum > a) == (b > 0) {
			return sum, true
		}
	case operators.Subtract:
		if difference := a - b; (difference < a) == (b > 0) {
			return difference, true
		}
	case operators.Less:
		return types.Bool(a < b), true
	case operators.LessEquals:
		return types.Bool(a <= b), true
	case operators.Greater:
		return types.Bool(a > b), true
	case operators.GreaterEquals:
		return types.Bool(a >= b), true
	case operators.Equals:
		return types.Bool(a == b), true
	case operators.NotEquals:
		return types.Bool(a != b), true
	}
	return nil, false
}
