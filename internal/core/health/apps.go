package health

import "fmt"

func deployment(f *fields) Health {
	if f.flag("spec", "paused") {
		return Health{Status: Suspended, Message: "The rollout is paused"}
	}
	if h, waiting := f.unobserved(); waiting {
		return h
	}
	updated, available := f.count("status", "updatedReplicas"), f.count("status", "availableReplicas")
	wanted, found := f.number("spec", "replicas")
	if f.condition("Progressing").Reason == "ProgressDeadlineExceeded" {
		return degraded("The rollout exceeded its progress deadline: %d of %d replicas updated, %d available",
			updated, wanted, available)
	}
	if found && updated < wanted {
		return progressing("Waiting for rollout: %d of %d replicas updated", updated, wanted)
	}
	if old := f.count("status", "replicas") - updated; old > 0 {
		return progressing("Waiting for rollout: %d old replicas to terminate", old)
	}
	if available < updated {
		return progressing("Waiting for rollout: %d of %d updated replicas available", available, updated)
	}
	return Health{Status: Healthy}
}

func replicaSet(f *fields) Health {
	if h, waiting := f.unobserved(); waiting {
		return h
	}
	if c := f.condition("ReplicaFailure"); c.isTrue() {
		return degraded("Pods cannot be created or deleted: %s", c.Message)
	}
	available := f.count("status", "availableReplicas")
	if wanted, found := f.number("spec", "replicas"); found && available < wanted {
		return progressing("Waiting for replicas: %d of %d available", available, wanted)
	}
	return Health{Status: Healthy}
}

// replicationController is what a ReplicaSet was before; Argo CD does not judge it.
func replicationController(f *fields) Health {
	h := replicaSet(f)
	h.Source = FromTable
	return h
}

func statefulSet(f *fields) Health {
	if f.count("status", "observedGeneration") == 0 {
		return progressing("Waiting for the controller to observe the object for the first time")
	}
	if h, waiting := f.unobserved(); waiting {
		return h
	}
	ready, updated := f.count("status", "readyReplicas"), f.count("status", "updatedReplicas")
	wanted, found := f.number("spec", "replicas")
	if found && ready < wanted {
		return progressing("Waiting for rollout: %d of %d pods ready", ready, wanted)
	}
	strategy := f.text("spec", "updateStrategy", "type")
	if strategy == "RollingUpdate" && f.has("spec", "updateStrategy", "rollingUpdate") {
		// Pods below the partition keep the old revision on purpose, so the revisions may differ for ever.
		partition, partitioned := f.number("spec", "updateStrategy", "rollingUpdate", "partition")
		if due := wanted - partition; found && partitioned && updated < due {
			return progressing("Waiting for rollout: %d of %d pods from ordinal %d updated", updated, due, partition)
		}
		return Health{Status: Healthy}
	}
	if strategy == "OnDelete" {
		return Health{Status: Healthy, Message: onDelete(updated, wanted)}
	}
	current, update := f.text("status", "currentRevision"), f.text("status", "updateRevision")
	if current != update {
		return progressing("Waiting for rollout: %d of %d pods at revision %s", updated, wanted, update)
	}
	return Health{Status: Healthy}
}

func daemonSet(f *fields) Health {
	if h, waiting := f.unobserved(); waiting {
		return h
	}
	wanted := f.count("status", "desiredNumberScheduled")
	updated, available := f.count("status", "updatedNumberScheduled"), f.count("status", "numberAvailable")
	if f.text("spec", "updateStrategy", "type") == "OnDelete" {
		return Health{Status: Healthy, Message: onDelete(updated, wanted)}
	}
	if updated < wanted {
		return progressing("Waiting for rollout: %d of %d nodes updated", updated, wanted)
	}
	if available < wanted {
		return progressing("Waiting for rollout: pods available on %d of %d nodes", available, wanted)
	}
	return Health{Status: Healthy}
}

// onDelete tells what a Healthy verdict hides: with this strategy old pods stay until somebody deletes them.
func onDelete(updated, wanted int64) string {
	return fmt.Sprintf("Pods are updated when deleted: %d of %d are", updated, wanted)
}
