package localaws

// describeBackups and updateBackups are the switch for point-in-time recovery.
// The engine makes no backups; a program that looks at the switch gets the
// answers of a table that has one (API Reference, DescribeContinuousBackups).
type describeBackups struct{ TableName string }

func (o *describeBackups) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *describeBackups) run(e *Engine, _ *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, noBackups(o.TableName, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return t.backups(), nil
}

type updateBackups struct {
	TableName                        string
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled *bool }
}

func (o *updateBackups) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *updateBackups) run(e *Engine, _ *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, noBackups(o.TableName, err)
	}
	want := o.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
	if want == nil {
		return nil, invalid("1 validation error detected: Value null at 'pointInTimeRecoverySpecification.pointInTimeRecoveryEnabled' failed to satisfy constraint: Member must not be null")
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	t.recoverable = *want
	return t.backups(), nil
}

func (t *table) backups() *reply {
	r := newReply()
	r.object("ContinuousBackupsDescription", func() {
		r.text("ContinuousBackupsStatus", "ENABLED")
		r.object("PointInTimeRecoveryDescription", func() {
			status := "DISABLED"
			if t.recoverable {
				status = "ENABLED"
			}
			r.text("PointInTimeRecoveryStatus", status)
		})
	})
	return r
}

// noBackups is the error of these two operations for a table that is not there.
func noBackups(name string, err error) error {
	if a := asAPIError(err); a.code == "ResourceNotFoundException" {
		return refuse("TableNotFoundException", "Table not found: %s", plainName(name))
	}
	return err
}
