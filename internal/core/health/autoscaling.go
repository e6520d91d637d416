package health

import (
	"encoding/json"
)

// v1Conditions holds the conditions of an autoscaler in autoscaling/v1, whose status has no field for them.
const v1Conditions = "autoscaling.alpha.kubernetes.io/conditions"

func autoscaler(f *fields) Health {
	verdict := progressing("Waiting for the autoscaler to report")
	for _, c := range autoscalerConditions(f) {
		switch c.Type + "/" + c.Reason {
		case "AbleToScale/FailedGetScale", "AbleToScale/FailedUpdateScale",
			"ScalingActive/FailedGetResourceMetric", "ScalingActive/InvalidSelector":
			return degraded("%s: %s", c.Reason, c.Message)
		}
		if c.isTrue() && (c.Type == "AbleToScale" || c.Type == "ScalingLimited") && verdict.Status != Healthy {
			verdict = Health{Status: Healthy, Message: c.Message}
		}
	}
	return verdict
}

func autoscalerConditions(f *fields) []condition {
	var all []condition
	f.items(func(item *fields) bool {
		all = append(all, item.asCondition())
		return true
	}, "status", "conditions")
	text := f.text("metadata", "annotations", v1Conditions)
	if len(all) > 0 || text == "" {
		return all
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		f.blame([]string{"metadata", "annotations", v1Conditions}, "is not a list of conditions")
		return nil
	}
	return all
}
