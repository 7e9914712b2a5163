package conformance

func KnownMoto() map[string]string { return nil }
